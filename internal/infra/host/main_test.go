package host

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/nvidia/aicr-action/internal/testkit/workers"
	"github.com/nvidia/aicr-action/internal/util/sandbox"
)

// helperEnv makes the test binary play the parent of a supervised process, so that a test can kill
// a parent.
const helperEnv = "AICR_ACTION_TEST_HELPER_DIR"

func TestMain(m *testing.M) {
	workers.Serve(sandbox.Hidden())
	if dir := os.Getenv(helperEnv); dir != "" {
		if err := helperParent(dir); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// helperParent supervises one process, says its PID and stays until it is killed.
func helperParent(dir string) error {
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		return err
	}
	p, err := NewSupervisor().Start(ProcessSpec{Name: "child", Path: sleep, Args: []string{"1000"}, Log: dir + "/child.log"})
	if err != nil {
		return err
	}
	fmt.Println(p.PID)
	<-p.Done()
	return nil
}
