package peertest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// packages maps the programs that tests name to Debian packages.
var packages = map[string]string{
	"opensm": "opensm", "ibsim": "ibsim-utils", "ip": "iproute2", "systemd-analyze": "systemd", "promtool": "prometheus", "prometheus": "prometheus",
	"prometheus-alertmanager": "prometheus-alertmanager", "amtool": "prometheus-alertmanager",
	"unshare": "util-linux", "sh": "dash", "make": "make", // in every Debian, and required by `make test` itself
}

// read reads a file of the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMissingPeersFailWhereEverythingIsRun(t *testing.T) {
	t.Parallel()
	if !regexp.MustCompile(`(?m)^test: peers\b.*\n\t\./test/run\.sh$`).MatchString(read(t, "Makefile")) {
		t.Error("Makefile: `make test` does not install the peers and run test/run.sh")
	}
	for _, name := range []string{"Makefile", "test/run.sh"} {
		for line := range strings.Lines(read(t, name)) {
			if regexp.MustCompile(`(\bgo|\$\(GOTEST\)).* \./\.\.\.$`).MatchString(strings.TrimSpace(line)) && strings.Contains(line, "-timeout") && !strings.Contains(line, "FAIRLANE_REQUIRE_INTEROP=1 ") {
				t.Errorf("%s: missing peers go unnoticed: %s", name, line)
			}
		}
	}
	for line := range strings.Lines(read(t, "test/run.sh")) {
		if strings.Contains(line, "go test ") && !strings.HasPrefix(strings.Replace(line, "nice ", "", 1), "FAIRLANE_REQUIRE_INTEROP=1 go test ") {
			t.Errorf("test/run.sh: missing peers go unnoticed: %s", line)
		}
	}
}

// The script that the failure message names installs every program that a test names, and no test skips by other means.
func TestPeersAreInstalledAndNothingElseIsSkipped(t *testing.T) {
	t.Parallel()
	installed := " " + regexp.MustCompile(`packages=\((.*)\)`).FindStringSubmatch(read(t, "test/install-peers.sh"))[1] + " "
	named := regexp.MustCompile(`\bpeertest\.Program\([\w.]+, "([^"]+)"\)`)
	skips := regexp.MustCompile(`\b\w+\.(Skip|Skipf|SkipNow)\(|\btesting\.Short\(\)`)
	programs := 0
	err := filepath.WalkDir(filepath.Join("..", "..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "peertest" || d.Name() == "tools" || strings.HasPrefix(d.Name(), ".") && d.Name() != ".."):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			programs++
			if p := packages[m[1]]; p == "" || p != "util-linux" && p != "dash" && p != "make" && !strings.Contains(installed, " "+p+" ") {
				t.Errorf("%s: program %s is in package %q: want one that test/install-peers.sh installs", path, m[1], p)
			}
		}
		if m := skips.FindString(string(text)); m != "" && strings.HasSuffix(path, "_test.go") {
			t.Errorf("%s: %s: want peertest.Missing, which fails where everything is run", path, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if programs < 5 {
		t.Errorf("%d programs are named: want those of the repository", programs)
	}
}

// If a test was renamed, a script that runs it by name would pass without running it.
func TestScriptsRunTestsThatExist(t *testing.T) {
	t.Parallel()
	tests, err := exec.Command("git", "-C", "../../..", "grep", "-hoE", "^func Test[A-Za-z0-9_]+", "--", "*_test.go").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Makefile", "test/soak.sh", "test/check.sh", "test/race.sh", "test/run.sh"} {
		for _, run := range regexp.MustCompile(`-run '?(Test[A-Za-z0-9_|]+)`).FindAllStringSubmatch(read(t, name), -1) {
			for test := range strings.SplitSeq(run[1], "|") {
				if !strings.Contains(string(tests), "func "+test) {
					t.Errorf("%s runs %s, and no test has that name", name, test)
				}
			}
		}
	}
}
