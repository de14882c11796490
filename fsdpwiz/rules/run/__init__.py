"""What goes wrong while a run is launched, followed or resumed."""
