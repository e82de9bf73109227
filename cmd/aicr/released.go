package main

// released is the version that a release's build gives to the linker; empty in every other build.
var released string
