// verify: unsafe, check: fails
void __VERIFIER_error(void) { }
int main(void) { __VERIFIER_error(); return 0; }
