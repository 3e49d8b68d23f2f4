// verify: unsafe, check: fails
int (*f)(int);
int main(void) { return f(3); }
