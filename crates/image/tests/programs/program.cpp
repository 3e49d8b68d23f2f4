// Exceptions being handled belong to a thread, and are over when its execution is.
#include "probe.h"
#include <csetjmp>
#include <exception>
#include <stdexcept>
#include <string>

static thread_local int local = 3;

static void abandon_a_handler(void *) {
    static std::jmp_buf out;
    EXPECT(std::uncaught_exceptions() == 0);
    EXPECT(!std::current_exception());
    EXPECT(local == 3);
    local = 4;
    if (setjmp(out) == 0) {
        try {
            throw std::runtime_error("thrown");
        } catch (const std::exception &caught) {
            EXPECT(std::string(caught.what()) == "thrown");
            // Out of the handler without its end, as in an execution that is given up.
            std::longjmp(out, 1);
        }
    }
    EXPECT(std::current_exception());
}

int main() {
    probe_donors(2);
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < 2; i++) {
            probe_on(i, abandon_a_handler, nullptr);
            EXPECT(!std::current_exception());
            probe_reset_tls(i);
        }
        abandon_a_handler(nullptr);
        probe_reset_main_tls();
    }
    return 0;
}
