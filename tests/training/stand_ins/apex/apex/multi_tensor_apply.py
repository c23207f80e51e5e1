def multi_tensor_applier(function, overflow, lists, *arguments):
    return function(2048 * 32, overflow, lists, *arguments)
