// A shared library that is no provider.
extern "C" int something_else() { return 1; }
