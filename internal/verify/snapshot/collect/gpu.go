package collect

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/nvidia/aicr-action/internal/verify/snapshot"
)

// smiLog is what is read of `nvidia-smi -q -x`. The elements have kept their names since driver
// 418, except for product_architecture, which came with 470.
type smiLog struct {
	Driver string   `xml:"driver_version"`
	CUDA   string   `xml:"cuda_version"`
	GPUs   []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	Product      string `xml:"product_name"`
	Brand        string `xml:"product_brand"`
	Architecture string `xml:"product_architecture"`
	VBIOS        string `xml:"vbios_version"`
	Persistence  string `xml:"persistence_mode"`
	Compute      string `xml:"compute_mode"`
	Addressing   string `xml:"addressing_mode"`
	GSP          string `xml:"gsp_firmware_version"`
	MIG          string `xml:"mig_mode>current_mig"`
	ECC          string `xml:"ecc_mode>current_ecc"`
	Memory       string `xml:"fb_memory_usage>total"`
	PCIeMost     string `xml:"pci>pci_gpu_link_info>pcie_gen>max_link_gen"`
	PowerLimit   string `xml:"gpu_power_readings>current_power_limit"`
}

// gpus asks the driver by its own program. NVML would be asked through a C library, and a program
// that is built without cgo cannot load one; nvidia-smi comes with every driver, and asks NVML.
func gpus(ctx context.Context, _ Options) ([]snapshot.Subtype, error) {
	program, err := exec.LookPath("nvidia-smi")
	if err != nil {
		return nil, errors.New("there is no nvidia-smi on the PATH; take the snapshot on a machine with an NVIDIA driver, or with --agent")
	}
	cmd := exec.CommandContext(ctx, program, "-q", "-x")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&out, 16 << 20}, &limited{&said, 4 << 10}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("nvidia-smi -q -x: %w: %s", err, strings.TrimSpace(said.String()+" "+firstLine(out.String())))
	}
	return readSMI(out.Bytes())
}

// limited keeps the first bytes of what is written, and drops the rest.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// readSMI reads the answer of nvidia-smi. The readings are those of the first GPU; one that differs
// between the machine's GPUs has all values.
func readSMI(text []byte) ([]snapshot.Subtype, error) {
	var log smiLog
	if err := xml.Unmarshal(text, &log); err != nil {
		return nil, fmt.Errorf("nvidia-smi -q -x printed what is no XML: %w", err)
	}
	if log.Driver == "" {
		return nil, errors.New("nvidia-smi -q -x printed no driver_version")
	}
	smi := data{}
	smi.set("driver-version", log.Driver)
	smi.set("gpu-count", int64(len(log.GPUs)))
	if log.CUDA != "" {
		smi.set("cuda-version", log.CUDA)
	}
	for _, field := range []struct {
		key string
		of  func(smiGPU) string
	}{
		{"product-name", func(g smiGPU) string { return g.Product }},
		{"product-brand", func(g smiGPU) string { return g.Brand }},
		{"product-architecture", func(g smiGPU) string { return g.Architecture }},
		{"vbios-version", func(g smiGPU) string { return g.VBIOS }},
		{"persistence-mode", func(g smiGPU) string { return g.Persistence }},
		{"compute-mode", func(g smiGPU) string { return g.Compute }},
		{"addressing-mode", func(g smiGPU) string { return g.Addressing }},
		{"gsp-firmware-version", func(g smiGPU) string { return g.GSP }},
		{"mig-mode", func(g smiGPU) string { return g.MIG }},
		{"ecc-mode", func(g smiGPU) string { return g.ECC }},
		{"memory-total-mib", func(g smiGPU) string { return strings.TrimSuffix(g.Memory, " MiB") }},
		{"pcie-max-link-generation", func(g smiGPU) string { return g.PCIeMost }},
		{"power-limit-watts", func(g smiGPU) string { return strings.TrimSuffix(g.PowerLimit, " W") }},
	} {
		var values []string
		for _, g := range log.GPUs {
			if v := strings.TrimSpace(field.of(g)); v != "" && v != "N/A" && v != "[N/A]" {
				values = appendNew(values, v)
			}
		}
		switch n, err := strconv.ParseInt(strings.Join(values, ","), 10, 64); {
		case len(values) == 0:
		case err == nil:
			smi.set(field.key, n)
		default:
			smi.set(field.key, strings.Join(values, ","))
		}
	}
	driver := data{}
	driver.set("version", log.Driver)
	return []snapshot.Subtype{{Name: "smi", Data: smi}, {Name: "driver", Data: driver}}, nil
}

func appendNew(list []string, value string) []string {
	for _, have := range list {
		if have == value {
			return list
		}
	}
	return append(list, value)
}
