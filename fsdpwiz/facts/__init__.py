"""What is true of the machines, the model and the data a run is for."""
