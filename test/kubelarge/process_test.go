package kubelarge

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// ticks is the unit of processor times in /proc, which is the same on all platforms of Linux.
const ticks = 100

// usage is the processor time of the processes of this test by name, and that of the machine.
type usage struct {
	at      time.Time
	by      map[string]time.Duration
	machine time.Duration // busy, of all processors together
}

// processes returns this process and its children by name and number.
func processes(t *testing.T) map[string]int {
	t.Helper()
	all := map[string]int{"test": os.Getpid()}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		name, fields := statOf(path)
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			for all[name] != 0 { // the second replica
				name += "'"
			}
			all[name] = pid
		}
	}
	return all
}

// statOf returns a process's name and the fields behind it; none for one that has ended.
func statOf(path string) (string, []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", nil
	}
	open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
	return string(text[open+1 : end]), strings.Fields(string(text[end+1:]))
}

// use returns the processor time that has been used.
func use(t *testing.T) usage {
	t.Helper()
	u := usage{at: time.Now(), by: map[string]time.Duration{}}
	for name, pid := range processes(t) {
		u.by[name] = spentBy(pid)
	}
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line)[1:9] { // user nice system idle iowait irq softirq steal
		if i != 3 && i != 4 {
			u.machine += jiffies(field)
		}
	}
	return u
}

// spentBy returns the processor time of a process; 0 for one that has ended.
func spentBy(pid int) time.Duration {
	_, fields := statOf(fmt.Sprintf("/proc/%d/stat", pid))
	if len(fields) < 13 {
		return 0
	}
	return jiffies(fields[11]) + jiffies(fields[12])
}

func jiffies(text string) time.Duration {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Duration(n) * time.Second / ticks
}

// since returns what was used after an earlier moment, and the time for which work that is not of this test kept all processors busy.
func (u usage) since(before usage) (by map[string]time.Duration, others time.Duration) {
	by, own := map[string]time.Duration{}, time.Duration(0)
	for name, d := range u.by {
		by[name] = d - before.by[name]
		own += by[name]
	}
	return by, max(0, u.machine-before.machine-own) / time.Duration(runtime.NumCPU())
}

// allowed returns the time that the controller may take for a change after an earlier moment: the bound, or longer where the processors
// of this machine are the limit, which the API server, etcd, the service and the test share here. Those may work for four fifths of it.
// Work that is not of this test extends it.
func (u usage) allowed(before usage) time.Duration {
	by, others := u.since(before)
	own := time.Duration(0)
	for _, d := range by {
		own += d
	}
	return max(bound, own/time.Duration(runtime.NumCPU())*5/4) + others
}

// log prints what was used since an earlier moment.
func (u usage) log(t *testing.T, what string, before usage) {
	t.Helper()
	by, others := u.since(before)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(by)) {
		parts = append(parts, fmt.Sprintf("%s %.1f s", name, by[name].Seconds()))
	}
	t.Logf("%s: %.1f s, of which other work took the processors for %.1f s; processor time: %s", what, u.at.Sub(before.at).Seconds(), others.Seconds(), strings.Join(parts, ", "))
}

// memory returns the largest resident memory of a process, in bytes.
func memory(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		t.Fatalf("process %d has no VmHWM", pid)
	}
	kb, err := strconv.Atoi(fields[0])
	if err != nil {
		t.Fatal(err)
	}
	return kb << 10
}

// logMemory prints the largest resident memory of the programs.
func logMemory(t *testing.T) {
	t.Helper()
	all := processes(t)
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if name != "test" {
			parts = append(parts, fmt.Sprintf("%s %d MB", name, memory(t, all[name])>>20))
		}
	}
	t.Logf("resident memory, at most: %s", strings.Join(parts, ", "))
}
