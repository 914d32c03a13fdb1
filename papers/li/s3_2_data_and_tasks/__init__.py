"""Section 3.2 Data, tasks and Condition 3.2: notebooks/li_3_2_data_and_tasks.ipynb."""
