def fp8_model_init(*_, **__):
    raise NotImplementedError("fp8 is not used")


class FP8GlobalStateManager:
    @staticmethod
    def is_fp8_enabled() -> bool:
        return False


def fp8_autocast(*_, **__):
    raise NotImplementedError("fp8 is not used")
