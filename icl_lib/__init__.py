"""Models, theory, experiments and verdicts of the in-context-learning companion.

The floors, bottom to top; a module imports from floors below its own only:

``seeds``                       the only maker of random generators
``tasks``                       prompts, and one class per prompt distribution
``models`` ``baselines``        what predicts a query from a prompt
``classifiers`` ``regressors``  classical ones, fitted on the examples of a prompt
``theory``                      one function per displayed equation; imports nothing of ours
``recording``                   steps of training as CUDA graphs
``train`` ``flow``              fitting by steps, and by population gradient flow
``measure`` ``results``         estimating, storing
``patches``                     context turned into weights
``experiments``                 frozen declarations and the datasets they produce
``claims`` ``figures``          see a dataset, nothing else
``registry``                    every experiment and every claim by name
``__main__``                    list, run, check
"""
