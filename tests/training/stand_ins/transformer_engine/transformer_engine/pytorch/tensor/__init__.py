class QuantizedTensor:
    """Nothing here is quantized."""
