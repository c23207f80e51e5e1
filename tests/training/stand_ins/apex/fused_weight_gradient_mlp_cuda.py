def wgrad_gemm_accum_fp32(total_input, grad_output, main_grad):
    main_grad += (grad_output.t() @ total_input).float()
