"""Models, theory, experiments and verdicts of the in-context-learning companion.

The floors, bottom to top; a module imports from floors below its own only:

``seeds``                       the only maker of random generators
``identity``                    what a number was made from, as one digest
``tasks``                       prompts, and one class per prompt distribution
``models`` ``baselines``        what predicts a query from a prompt
``classifiers`` ``regressors``  classical ones, fitted on the examples of a prompt
``theory``                      one function per displayed equation; imports nothing of ours
``recording``                   steps of training as CUDA graphs
``train`` ``flow``              fitting by steps, and by population gradient flow
``measure`` ``results``         estimating, storing
``patches``                     context turned into weights
``weights``                     trained weights and unfinished trainings on disk
``experiments``                 frozen declarations and the datasets they produce
``claims`` ``figures``          see a dataset, nothing else
``registry`` ``sweep``          every experiment and every claim by name; many cells by any executor
``renewal``                     what is outdated is computed again
``__main__``                    list, run, check, train, renew, sweep, merge
"""
