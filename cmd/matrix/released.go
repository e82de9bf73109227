package main

// released is the version that a release's build gives to the linker (internal/tools/release);
// empty in every other build. A release is built before its tag exists, so that the go command
// cannot know the version.
var released string
