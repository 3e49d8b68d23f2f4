// Inputs.
extern int __VERIFIER_nondet_int(void);
extern _Bool __VERIFIER_nondet_bool(void);
extern void __VERIFIER_assume(int);
extern void __VERIFIER_assert(int);
int main(void) {
  int both = __VERIFIER_nondet_bool() + __VERIFIER_nondet_bool();
  __VERIFIER_assume(both != 1);
#ifdef WIDE
  int n = __VERIFIER_nondet_int();
  __VERIFIER_assert(n < WIDE);
#endif
  __VERIFIER_assert(both == 0 || both == 2);
  return 0;
}
