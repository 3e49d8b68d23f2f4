// verify: unsafe, check: fails
int main(int argc, char **argv) { (void)argv; if (argc > 0) __builtin_trap(); return 0; }
