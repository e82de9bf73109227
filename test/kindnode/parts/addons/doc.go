// Package addons lists what a Kind node needs beside Kubernetes: CoreDNS, a registry and the pause
// program.
package addons
