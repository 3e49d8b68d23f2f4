// Exceptions that threads share: the library counts references to them. Rows as in state.c.
#include <cassert>
#include <cstdlib>
#include <exception>
#include <future>
#include <iostream>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

static std::exception_ptr shared;
static std::mutex m;
struct Counted {
    int value = 3;
    ~Counted() { value = 0; }
};

static int caught(std::exception_ptr e) {
    try {
        std::rethrow_exception(e);
    } catch (int x) {
        return x;
    } catch (std::string &s) {
        return int(s.size());
    } catch (const std::exception &e) {
        return int(std::string(e.what()).size());
    } catch (const Counted &c) {
        return c.value;
    }
}

template <class T> static void dropped(T value) {
    std::exception_ptr e = std::make_exception_ptr(value);
    std::thread t([e]() mutable { e = nullptr; });
    assert(caught(e) == 3);
    e = nullptr;
    t.join();
}
template <class T> static void both(T value) {
    std::exception_ptr e = std::make_exception_ptr(value);
    std::thread t([e]() mutable { assert(caught(e) == 3); e = nullptr; });
    assert(caught(e) == 3);
    e = nullptr;
    t.join();
}
static void dropped_number() { dropped(3); }
static void dropped_string() { dropped(std::string("abc")); }
static void dropped_counted() { dropped(Counted()); }
static void dropped_error() { dropped(std::runtime_error("abc")); }
static void both_numbers() { both(3); }
static void both_strings() { both(std::string("abc")); }
static void both_errors() { both(std::logic_error("abc")); }
static void both_derived() { both(std::out_of_range("abc")); }
static void promised() {
    std::promise<int> p;
    auto f = p.get_future();
    std::thread t([p = std::move(p)]() mutable { p.set_exception(std::make_exception_ptr(std::runtime_error("abc"))); });
    try {
        f.get();
        std::abort();
    } catch (std::runtime_error &e) {
        assert(std::string(e.what()) == "abc");
    }
    t.join();
}
static void packaged() {
    std::packaged_task<int()> task([]() -> int { throw std::runtime_error("abc"); });
    auto f = task.get_future();
    std::thread t(std::move(task));
    try {
        f.get();
        std::abort();
    } catch (std::runtime_error &e) {
        assert(std::string(e.what()) == "abc");
    }
    t.join();
}
static void asynchronous() {
    auto f = std::async(std::launch::async, []() -> int { throw std::string("abc"); });
    try {
        f.get();
        std::abort();
    } catch (std::string &s) {
        assert(s == "abc");
    }
}
static void under_a_lock() {
    std::thread t([] {
        try {
            throw std::string("abc");
        } catch (...) {
            std::lock_guard<std::mutex> l(m);
            shared = std::current_exception();
        }
    });
    std::exception_ptr mine;
    {
        std::lock_guard<std::mutex> l(m);
        mine = shared;
    }
    if (mine)
        assert(caught(mine) == 3);
    mine = nullptr;
    t.join();
    shared = nullptr;
}
static void changed_by_both() {
    std::exception_ptr e = std::make_exception_ptr(std::string("abc"));
    auto change = [e] {
        try {
            std::rethrow_exception(e);
        } catch (std::string &s) {
            s[0] = 'x';
        }
    };
    std::thread t(change);
    change();
    t.join();
}
static void read_while_changed() {
    std::exception_ptr e = std::make_exception_ptr(3);
    std::thread t([e] { caught(e); });
    try {
        std::rethrow_exception(e);
    } catch (int &x) {
        x = 4;
    }
    t.join();
}
static void pointer_itself() {
    std::exception_ptr e = std::make_exception_ptr(3);
    std::thread t([&e] { e = nullptr; });
    std::exception_ptr mine = e;
    t.join();
}
// The thread that drops the last reference runs the destructor.
static std::thread::id last;
struct Last {
    bool is_real = false;
    Last() = default;
    Last(const Last &) : is_real(true) {}
    ~Last() { if (is_real) last = std::this_thread::get_id(); }
};
static void destroyed_by_either() {
    std::exception_ptr e = std::make_exception_ptr(Last());
    std::thread t([e]() mutable { e = nullptr; });
    e = nullptr;
    t.join();
    assert(last == std::this_thread::get_id());
}

static const struct { const char *name, *verdict; void (*run)(); } rows[] = {
#define BAD(row) {#row, "failure assertion", row},
#define RACE(row) {#row, "failure data-race", row},
#define GOOD(row) {#row, "verified", row},
    GOOD(dropped_number) GOOD(dropped_string) GOOD(dropped_counted) GOOD(dropped_error)
    GOOD(both_numbers) GOOD(both_strings) GOOD(both_errors) GOOD(both_derived)
    GOOD(promised) GOOD(packaged) GOOD(asynchronous) GOOD(under_a_lock)
    RACE(changed_by_both) RACE(read_while_changed) RACE(pointer_itself) BAD(destroyed_by_either)
};

int main(int argc, char **argv) {
    if (argc < 2) {
        for (auto &row : rows)
            std::cout << row.name << "\t" << row.verdict << std::endl;
        return 0;
    }
    rows[std::atoi(argv[1])].run();
    return 0;
}
