// std::atomic<std::shared_ptr>: two threads push onto a list whose head is one.
// Holds: no node is lost. With -DBUG the head is a plain shared_ptr: a data race.
#include <atomic>
#include <cassert>
#include <memory>
#include <thread>

struct node {
    int value;
    std::shared_ptr<node> next;
};

#ifdef BUG
static std::shared_ptr<node> head;

static void push(int value) {
    head = std::make_shared<node>(node{value, head});
}
#else
static std::atomic<std::shared_ptr<node>> head;

static void push(int value) {
    auto next = std::make_shared<node>(node{value, head.load()});
    while (!head.compare_exchange_weak(next->next, next))
        ;
}
#endif

int main() {
    std::thread one(push, 1), two(push, 2);
    one.join();
    two.join();
#ifndef BUG
    int sum = 0;
    for (auto at = head.load(); at; at = at->next)
        sum += at->value;
    assert(sum == 3);
#endif
}
