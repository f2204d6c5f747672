package topofile_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"fairlane/subnet/ident"
)

// needInterop skips a test that needs the field's own tools when they are missing, unless
// FAIRLANE_REQUIRE_INTEROP says that they must be there.
func needInterop(t *testing.T, missing string) {
	t.Helper()
	if os.Getenv("FAIRLANE_REQUIRE_INTEROP") != "" {
		t.Fatalf("%s is missing, and FAIRLANE_REQUIRE_INTEROP is set", missing)
	}
	t.Skipf("%s is missing: install ibsim-utils, libumad2sim0 and infiniband-diags", missing)
}

// discoverOnIbsim runs Debian's ibsim on a topology text and returns what Debian's ibnetdiscover
// prints from a host of it.
func discoverOnIbsim(t *testing.T, text []byte, from ident.GUID) []byte {
	t.Helper()
	return discoverOnIbsimAs(t, text, fmt.Sprintf("H-%016x", uint64(from)))
}

// discoverOnIbsimAs is discoverOnIbsim with the id of the host as the text has it.
func discoverOnIbsimAs(t *testing.T, text []byte, host string) []byte {
	t.Helper()
	preload, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(preload) == 0 {
		needInterop(t, "libumad2sim.so")
	}
	for _, tool := range []string{"ibsim", "ibnetdiscover"} {
		if _, err := exec.LookPath(tool); err != nil {
			needInterop(t, tool)
		}
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "net")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	socket := "IBSIM_SOCKNAME=topofile" + filepath.Base(dir) + fmt.Sprint(os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
	sim := exec.CommandContext(ctx, "ibsim", "-s", "-n", file)
	sim.Env = append(os.Environ(), socket)
	out, err := sim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	sim.Stderr = sim.Stdout
	if err := sim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = sim.Process.Kill()
		_ = sim.Wait()
	}()
	var log strings.Builder
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatalf("ibsim refuses the text:\n%s", log.String())
		}
		fmt.Fprintln(&log, lines.Text())
		if strings.Contains(lines.Text(), "simulator ready") {
			break
		}
	}
	tool := exec.CommandContext(ctx, "ibnetdiscover")
	tool.Dir = dir
	tool.Env = append(os.Environ(), socket, "LD_PRELOAD="+preload[0], "SIM_HOST="+host)
	result, err := tool.Output()
	if err != nil {
		t.Fatalf("ibnetdiscover: %v\n%s\n%s", err, result, log.String())
	}
	return result
}
