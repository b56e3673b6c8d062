// SPDX-License-Identifier: MIT
/* void cusim_switch(void **save, void *load): leave this stack, enter another
 *
 * Only what a function must keep for its caller is saved. The last step is a jump, no
 * ret: the processor predicts a ret from a stack of its own, which would be wrong.
 */
#if defined(__x86_64__)
    .text
    .globl cusim_switch
    .type cusim_switch, @function
cusim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmp *%rcx
    .size cusim_switch, . - cusim_switch
#endif
    .section .note.GNU-stack, "", %progbits
