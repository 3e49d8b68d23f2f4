// What is compiled inside the C++ library, as in calls.c.
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
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
static char word[32] = "word";
static wchar_t wide[32] = L"wide";
static std::tm date;
static long double money;
static std::thread worker;
static std::runtime_error failure("a failure"), another("another one");
static std::logic_error mistake("a mistake");
static const std::exception &abstract = failure;
static std::ifstream passwords("/etc/passwd");

static void start() { if (!worker.joinable()) worker = std::thread([] {}); }

struct Row {
    const char *name;
    void (*call)(), (*beside)(), (*before)() = nullptr;
};
static const Row rows[] = {
    {"join beside joinable", [] { worker.join(); }, [] { sink = worker.joinable(); }, start},
    {"detach beside joinable", [] { worker.detach(); }, [] { sink = worker.joinable(); }, start},
    {"join beside get_id", [] { worker.join(); }, [] { sink = worker.get_id() == std::thread::id(); }, start},
    {"array", [] { std::istringstream i(" word"); i >> word; }, [] { sink = word[3]; }},
    {"array with width", [] { std::istringstream i("words"); i >> std::setw(4) >> word; }, [] { sink = word[3]; }},
    {"wide array", [] { std::wistringstream i(L"word"); i >> wide; }, [] { sink = wide[3]; }},
    {"wide character", [] { std::wistringstream i(L"word"); i >> wide[3]; }, [] { sink = wide[3]; }},
    {"get", [] { std::istringstream i("a word"); i.get(word, 9); }, [] { sink = word[5]; }},
    {"get up to", [] { std::istringstream i("a word"); i.get(word, 9, 'd'); }, [] { sink = word[4]; }},
    {"getline", [] { std::istringstream i("a word"); i.getline(word, 9); }, [] { sink = word[5]; }},
    {"wide getline", [] { std::wistringstream i(L"a word"); i.getline(wide, 9); }, [] { sink = wide[5]; }},
    {"wide read", [] { std::wistringstream i(L"a word"); i.read(wide, 5); }, [] { sink = wide[4]; }},
    {"wide write", [] { std::wostringstream o; o.write(wide, 4); }, [] { wide[3] = 1; }},
    {"line of a file", [] { passwords.getline(word, 9); }, [] { sink = word[6]; }},
    {"gcount", [] { in.ignore(1); }, [] { sink = in.gcount(); }},
    {"buffer to stream", [] { std::ostringstream o; o << both.rdbuf(); }, [] { sink = both.rdbuf()->sgetc(); }},
    {"get_time", [] { std::istringstream i("2020-10-11"); i >> std::get_time(&date, "%Y-%m-%d"); }, [] { sink = date.tm_mon; }},
    {"put_time", [] { std::ostringstream o; o << std::put_time(&date, "%H:%M"); }, [] { date.tm_min = 3; }},
    {"get_money", [] { std::istringstream i("12"); i >> std::get_money(money); }, [] { sink = money > 1; }},
    {"exception", [] { failure = another; }, [] { sink = failure.what()[0]; }},
    {"exception by its base", [] { failure = another; }, [] { sink = abstract.what()[0]; }},
    {"copy of an exception", [] { mistake = std::logic_error("new"); }, [] { std::logic_error copy(mistake); }},
    {"imbue", [] { out.imbue(std::locale::classic()); }, [] { std::locale l = out.getloc(); }},
    {"imbue of the base", [] { static_cast<std::ios_base &>(out).imbue(std::locale::classic()); }, [] { out << 1; }},
    {"imbue of a buffer", [] { out.rdbuf()->pubimbue(std::locale::classic()); }, [] { std::locale l = out.rdbuf()->getloc(); }},
    {"imbue of cout", [] { std::cout.imbue(std::locale::classic()); }, [] { std::cout << 1; }},
    {"copyfmt", [] { out.copyfmt(both); }, [] { both.width(3); }},
    {"moved stream", [] { std::stringstream s(std::move(both)); }, [] { sink = both.rdbuf()->sgetc(); }},
    {"assigned stream", [] { std::stringstream s; s = std::move(both); }, [] { sink = both.get(); }},
    {"collate", [] { std::use_facet<std::collate<char>>(std::locale::classic()).hash(word, word + 4); }, [] { word[3] = 'x'; }},
    {"sync_with_stdio", [] { std::ios::sync_with_stdio(false); }, [] { std::cout << 1; }},
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
    if (row.before)
        row.before();
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
