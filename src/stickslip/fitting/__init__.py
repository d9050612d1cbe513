"""Parameters from measurements: data, predictions with derivatives, least squares, intervals, comparison of laws."""
