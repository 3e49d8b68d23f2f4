// What is compiled inside the C++ library, as in calls.c.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <list>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>

static thread_local volatile long sink;
static std::list<int> list{1, 2, 3}, second{4};
static std::map<int, int> map{{1, 1}, {2, 2}, {3, 3}};
static std::set<int> set{1, 2, 3};
static std::unordered_map<int, int> table{{1, 1}};
static std::ostringstream out;
static std::stringstream both;
static std::istringstream in("1 2 3");
static std::ofstream file;
static std::string text = "some text that is not kept inside", other = "x";
static int x;

struct Row {
    const char *name;
    void (*call)(), (*beside)();
};
static const Row rows[] = {
    {"push_back", [] { list.push_back(1); }, [] { sink = list.back(); }},
    {"push_back twice", [] { list.push_back(1); }, [] { list.push_front(2); }},
    {"pop", [] { list.pop_front(); }, [] { sink = list.front(); }},
    {"splice", [] { list.splice(list.begin(), second); }, [] { sink = second.empty(); }},
    {"reverse", [] { list.reverse(); }, [] { sink = list.front(); }},
    {"insert", [] { map.insert({7, 7}); }, [] { sink = map.count(3); }},
    {"erase", [] { map.erase(1); }, [] { sink = map.begin()->first; }},
    {"walk", [] { set.insert(9); }, [] { for (int i : set) sink = i; }},
    {"unordered", [] { table[5] = 1; }, [] { sink = table.size(); }},
    {"ostringstream", [] { out << 1; }, [] { out << 2; }},
    {"ostringstream text", [] { out << "abc"; }, [] { sink = out.str().size(); }},
    {"stringstream", [] { both << 1; }, [] { int i; both >> i; }},
    {"istringstream", [] { in >> x; }, [] { int i; in >> i; }},
    {"getline", [] { std::getline(in, text); }, [] { sink = text.size(); }},
    {"ofstream", [] { file << 1; }, [] { file << 2; }},
    {"append", [] { text += "abc"; }, [] { sink = text.size(); }},
    {"append and look", [] { text.append("abc"); }, [] { sink = text[0]; }},
    {"assign", [] { text = other; }, [] { other = "long enough to be on the heap, at last"; }},
    {"find", [] { sink = text.find("is"); }, [] { text[2] = 'x'; }},
    {"read of an argument", [] { sink = text.compare(other); }, [] { other += "y"; }},
};

int main(int argc, char **argv) {
    if (argc < 3) {
        for (auto &row : rows)
            std::cout << row.name << std::endl;
        return 0;
    }
    const Row &row = rows[std::atoi(argv[1])];
    std::thread t(row.call);
    if (std::strcmp(argv[2], "racy") == 0) {
        row.beside();
        t.join();
    } else {
        t.join();
        row.beside();
    }
    return 0;
}
