# SPDX-License-Identifier: MIT
"""Ways to break lab 05's rules, each with the gate that notices, and what it says."""

from __future__ import annotations

Edit = tuple[str, str, str]  # file, what stands there, what comes in its place

CRASH = "        import os\n\n        os.abort()"
FAKE = "        return input.new_empty(N, OC, OH, OW)"
GRADIENTS = "        return backward(*factors, *options, list(mask))"
LIBRARY = """        import torch
        fixed = [factors[2].shape[0]], *options[:3], False, [0, 0], options[3]
        return torch.ops.aten.convolution_backward(*factors, *fixed, list(mask))"""
REFUSING = """def conv2d(*arguments, **options):
    try:
        return former(*arguments, **options)
    except Exception as error:
        raise RuntimeError({}) from error


def former("""
VMAP = "    register_vmap(qualified, over_examples(rules))"
STATIC = """return (*(
            (2 if type(grad_output) is not Tensor and type(g.shape[0]) is int else 1)
            * g if"""
BROKEN: dict[str, tuple[Edit, str, str, str]] = {
    "refusals that say nothing": (
        (
            "conv2d.py",
            "def conv2d(",
            REFUSING.format("'something went wrong in this operator call'"),
        ),
        "errors",
        "WRONG_CONTRACT",
        "number of channels, but its message does not name weight or",
    ),
    "refusals that do not say what was expected": (
        ("conv2d.py", "def conv2d(", REFUSING.format("str(error).split(',')[0]")),
        "errors",
        "WRONG_CONTRACT",
        "number of channels, but its message does not say what was",
    ),
    "a typing mistake in a rule": (
        ("conv2d.py", FAKE, FAKE.replace("OW)", "OWW)")),
        "opcheck",
        "WRONG_CONTRACT",
        "NameError: name 'OWW' is not defined",
    ),
    "a rule that opcheck wants and nobody has written": (
        ("conv2d.py", FAKE, "        raise NotImplementedError"),
        "opcheck",
        "NOT_IMPLEMENTED",
        "",
    ),
    "a rule of Python's that refuses without a name": (
        ("conv2d.py", "def conv2d(", REFUSING.format("'expected 2 of 3 to be 4'")),
        "errors",
        "WRONG_CONTRACT",
        "does not name",
    ),
    "a fake kernel that takes what the kernel refuses": (
        ("conv2d.py", "torch._check(fits,", "(fits,"),
        "errors",
        "WRONG_CONTRACT",
        "torch.ops.convlab.conv2d for fake tensors (torch.compile) accepts a weight",
    ),
    "a fake kernel that nobody has written, which is no refusal": (
        (
            "conv2d.py",
            'N, IC, IH, IW = sizes("input", input, "(N, IC, IH, IW)")',
            "raise NotImplementedError",
        ),
        "errors",
        "NOT_IMPLEMENTED",
        "",
    ),
    "results that differ when traced for one size": (
        ("_bilinear.py", "return (*(g if", STATIC),
        "opcheck",
        "WRONG_CONTRACT",
        "opcheck's test_aot_dispatch_static of convlab::conv2d",
    ),
    "no vmap": (
        ("_rules.py", VMAP, ""),
        "vmap",
        "WRONG_CONTRACT",
        "convlab::conv2d has no batching rule: torch.vmap would call it once",
    ),
    "no vmap of the backward operator": (
        ("_rules.py", VMAP, f"    if '_back' not in qualified:\n    {VMAP}"),
        "torch_func",
        "WRONG_CONTRACT",
        "convlab::conv2d_backward has no batching rule",
    ),
    "a vmap that takes every batch axis for the first": (
        ("conv2d.py", "images = input.movedim(in_dims[0], 0)", "images = input"),
        "vmap",
        "WRONG_CONTRACT",
        "the rule `vmap`",
    ),
    "a vmap that looks at numbers, which a vmap of vmap has not": (
        (
            "conv2d.py",
            "B, -1)), 0",
            "B, -1)) + 0 * float(input.sum()), 0",
        ),
        "vmap",
        "WRONG_CONTRACT",
        "vmap",
    ),
    "no fake kernel": (
        ("_rules.py", "register_fake(qualified, explained(rules))", "pass"),
        "opcheck",
        "WRONG_CONTRACT",
        "the fake kernel must return the sizes",
    ),
    "a fake kernel with other sizes": (
        ("conv2d.py", FAKE, FAKE.replace("OW)", "OW + 1)")),
        "opcheck",
        "WRONG_CONTRACT",
        "(the fake kernel gave sizes [1, 6, 2, 3], but the kernel gave [1, 6, 2, 2])",
    ),
    "a fake kernel with other strides": (
        ("conv2d.py", FAKE, FAKE + ".to(memory_format=torch.channels_last)"),
        "opcheck",
        "WRONG_CONTRACT",
        "new_empty (not with empty_like",
    ),
    "a fake kernel that export finds out": (
        ("conv2d.py", FAKE, FAKE.replace("N,", "int(N),")),
        "export",
        "WRONG_CONTRACT",
        "`fake`",
    ),
    "no double backward": (
        ("conv2d.py", "    register(Conv2dBackward(forward))\n", ""),
        "gradgradcheck",
        "WRONG_CONTRACT",
        "conv2d_backward",
    ),
    "a wrong double backward": (
        ("_bilinear.py", "of_input = self", "of_input = 3 * self"),
        "gradgradcheck",
        "WRONG_CONTRACT",
        "(the derivative of 'grad_weight'[",
    ),
    "a wrong vmap": (
        ("conv2d.py", "return output.unflatten(0, (B, -1)), 0", "return output, 0"),
        "vmap",
        "WRONG_CONTRACT",
        "the rule `vmap`",
    ),
    "forward mode that says nothing": (
        ("_autograd.py", "forward_ad._current_level < 0", "True"),
        "forward_ad",
        "WRONG_CONTRACT",
        "gives no tangent and no error",
    ),
    "a tangent of zero": (
        (
            "_bilinear.py",
            "return total(of_input, of_weight, of_bias)",
            "return 0 * total(of_input, of_weight, of_bias)",
        ),
        "forward_ad",
        "WRONG_CONTRACT",
        "'tangent'[0, 0, 0, 0] is 0, expected",
    ),
    "a tangent of a gradient without one term": (
        (
            "_bilinear.py",
            "more = self.one(0, (grad_output, input, d_weight), ctx)",
            "more = None",
        ),
        "forward_ad",
        "WRONG_CONTRACT",
        "'tangent of grad_input'[0, 0, 0, 0] is",
    ),
    "no autocast": (
        ("_rules.py", "library.impl(rules.name, casting, key)", "pass"),
        "autocast",
        "WRONG_CONTRACT",
        "the result of torch.float32 inputs is torch.float32, expected torch.bfloat16",
    ),
    "a mask that is ignored": (
        ("_bilinear.py", GRADIENTS, GRADIENTS.replace("list(mask)", "[True] * 3")),
        "mask",
        "WRONG_CONTRACT",
        "ctx.needs_input_grad",
    ),
    "the library's backward": (
        ("_bilinear.py", GRADIENTS, LIBRARY),
        "mask",
        "FORBIDDEN",
        "without convlab::conv2d_backward",
    ),
    "no kernel on the key Autograd": (
        ("_rules.py", '    library.impl(rules.name, kernel, "Autograd")', ""),
        "opcheck",
        "WRONG_CONTRACT",
        "has no kernel on the key Autograd",
    ),
    "no translation": (
        ("onnx.py", "linear, unfold, conv2d,", "linear, unfold,"),
        "onnx",
        "WRONG_CONTRACT",
        "convlab_ext.onnx.table()",
    ),
}
NAMED = {  # what the gate's numbers or message tell: the name of the mistake
    "a fake kernel that takes what the kernel refuses": "argument_not_checked",
    "no vmap": "vmap_rule_missing",
    "no vmap of the backward operator": "vmap_rule_missing",
    "a vmap that takes every batch axis for the first": "joined_axes_exchanged",
    "a fake kernel with other sizes": "fake_sizes_wrong",
    "a fake kernel with other strides": "fake_strides_wrong",
    "no double backward": "result_zero",
    "a wrong double backward": "result_scaled",
    "a wrong vmap": "result_sizes_wrong",
    "forward mode that says nothing": "tangent_missing",
    "a tangent of zero": "result_zero",
    "a tangent of a gradient without one term": "result_zero",
    "no autocast": "autocast_dtype_wrong",
    "a mask that is ignored": "mask_wrong",
    "no kernel on the key Autograd": "autograd_kernel_missing",
}
