// std::barrier with a completion function that runs once a phase, between the two halves.
// Holds: the completion sees all values of the phase, and all see what it made. With -DBUG one thread drops out instead of waiting,
// and reads the sum before it is made: a data race.
#include <barrier>
#include <cassert>
#include <thread>

int main() {
    int values[2] = {0, 0};
    int sum = 0;
    auto complete = [&]() noexcept { sum = values[0] + values[1]; };
    std::barrier meeting(2, complete);
    auto work = [&](int me) {
        values[me] = me + 1;
#ifdef BUG
        if (me == 1)
            meeting.arrive_and_drop();
        else
            meeting.arrive_and_wait();
#else
        meeting.arrive_and_wait();
#endif
        assert(sum == 3);
    };
    std::thread a(work, 0), b(work, 1);
    a.join();
    b.join();
}
