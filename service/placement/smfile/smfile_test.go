package smfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/internal/testkit/zhtest"
	"fairlane/subnet/opensm/osmfile"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, tc := range map[string]struct {
		text string
		want File
	}{
		"opensm": {
			"opensm:\n  options: /etc/opensm/opensm.conf\n  partitions: sub/partitions.conf\n  policy: qos.conf\n  unit: opensm@0x0002c90300a1b2c3.service\n",
			File{OpenSM: &OpenSM{
				Options: "/etc/opensm/opensm.conf", Partitions: filepath.Join(dir, "sub/partitions.conf"), Policy: filepath.Join(dir, "qos.conf"),
				Unit: "opensm@0x0002c90300a1b2c3.service",
			}},
		},
		"opensm by process id": {
			"opensm: {options: /a, partitions: /b, pid_file: /run/opensm.pid}",
			File{OpenSM: &OpenSM{Options: "/a", Partitions: "/b", PIDFile: "/run/opensm.pid"}},
		},
		"opensm with all": {
			"opensm:\n  options: /a\n  partitions: /b\n  pid_file: /p\n  leave: [options, policy, lanes]\n  accept: [not-master, edited-by-hand]\n  members: all\n  ipoib: false\n  stop_congestion_control: true\n",
			File{OpenSM: &OpenSM{
				Options: "/a", Partitions: "/b", PIDFile: "/p", LeaveOptions: true, LeavePolicy: true, LeaveLanes: true,
				Accept: []osmfile.Code{"not-master", "edited-by-hand"}, AllMembers: true, NoIPoIB: true, StopCC: true,
			}},
		},
		"opensm with defaults": {
			"opensm: {options: /a, partitions: /b, pid_file: /p, leave: [], members: attached, ipoib: true, stop_congestion_control: false}",
			File{OpenSM: &OpenSM{Options: "/a", Partitions: "/b", PIDFile: "/p"}},
		},
		"ufm": {
			"ufm: {url: https://ufm.example, token_file: token, ca_file: ca.pem, accept: [service-levels]}",
			File{UFM: &UFM{URL: "https://ufm.example", TokenFile: filepath.Join(dir, "token"), CAFile: filepath.Join(dir, "ca.pem"), AcceptSLs: true}},
		},
		"ufm by password": {
			"ufm: {url: https://ufm.example, user: fairlane, password_file: /p}",
			File{UFM: &UFM{URL: "https://ufm.example", User: "fairlane", PasswordFile: "/p"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, *got); d != "" {
				t.Errorf("file differs (-want +got):\n%s", d)
			}
		})
	}
	if _, err := Load(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text string
		want []string
	}{
		"nothing":      {"# all comments\n", []string{"sm.yaml: found nothing, want the keys opensm, ufm"}},
		"empty":        {"{}", []string{"sm.yaml:1: found nothing, want opensm or ufm"}},
		"no mapping":   {"- opensm", []string{"sm.yaml:1: found a list of 1, want the keys opensm, ufm"}},
		"no YAML":      {"opensm: [", []string{`want valid YAML`}},
		"two":          {"{opensm: {options: /a, partitions: /b, unit: o.service}, ufm: {url: https://a}}", []string{"ufm: found in addition to another, want one of"}},
		"documents":    {"ufm: {}\n---\nufm: {}", []string{"sm.yaml:2: found a second document, want one"}},
		"alias":        {"opensm: &a {options: /a}", []string{`anchor or alias "a"`}},
		"unknown":      {"opensms: {}", []string{`sm.yaml:1: unknown key "opensms", want opensm, ufm`}},
		"unknown key":  {"opensm: {optoins: /a}", []string{`opensm: unknown key "optoins"`, "opensm.options: missing", "opensm.partitions: missing", "opensm.pid_file: missing, want it, or unit"}},
		"twice":        {"ufm:\n  url: https://a\n  url: https://b\n  token_file: t\n", []string{"sm.yaml:3: ufm.url: was given in line 2 already"}},
		"both ways":    {"opensm: {options: /a, partitions: /b, unit: o.service, pid_file: /p}", []string{"found both unit and pid_file"}},
		"one file":     {"opensm: {options: /a/b, partitions: /a/./b, unit: o.service}", []string{"sm.yaml:1: opensm.partitions: found the file of options, want another"}},
		"its process":  {"opensm: {options: /a, partitions: /b, pid_file: /b}", []string{"opensm.pid_file: found the file of partitions, want another"}},
		"a unit?":      {"opensm: {options: /a, partitions: /b, unit: '--now'}", []string{`opensm.unit: found "--now", want the name of a unit`}},
		"an option":    {"opensm: {options: /a, partitions: /b, unit: '-x.service'}", []string{`opensm.unit: found "-x.service"`}},
		"no value":     {"opensm: {options: , partitions: /b, unit: o.service}", []string{"opensm.options: missing, want the file that OpenSM is given with -F"}},
		"a list":       {"opensm: {options: [/a], partitions: /b, unit: o.service}", []string{"opensm.options: found a list of 1, want a text"}},
		"left":         {"opensm: {options: /a, partitions: /b, unit: o.service, leave: [option]}", []string{`opensm.leave[0]: found "option", want options, policy or lanes`}},
		"unknown code": {"opensm: {options: /a, partitions: /b, unit: o.service, accept: [not-master, sl-droppd]}", []string{`opensm.accept[1]: found "sl-droppd", want congestion-control-on, `}},
		"no list":      {"opensm: {options: /a, partitions: /b, unit: o.service, accept: x}", []string{`opensm.accept: found "x", want a list`}},
		"no code":      {"opensm: {options: /a, partitions: /b, unit: o.service, accept: ['']}", []string{`opensm.accept[0]: found no value`}},
		"maybe":        {"opensm: {options: /a, partitions: /b, unit: o.service, ipoib: maybe}", []string{`opensm.ipoib: found "maybe", want true or false`}},
		"ufm nobody":   {"ufm: {url: https://a}", []string{"ufm.token_file: missing, want it, or user and password_file"}},
		"ufm two":      {"ufm: {url: https://a, token_file: t, user: u}", []string{"found a token and a user"}},
		"ufm accepts":  {"ufm: {url: https://a, token_file: t, accept: [edited-by-hand]}", []string{`ufm.accept[0]: found "edited-by-hand", want service-levels`}},
		"ufm password": {"ufm: {url: https://a, user: u}", []string{"ufm.password_file: missing"}},
		"long":         {strings.Repeat("#", MaxBytes+1), []string{"found more than 65536 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, err := Read("sm.yaml", "/d", strings.NewReader(tc.text))
			if err == nil {
				t.Fatalf("got %+v, want an error", f)
			}
			zhtest.Error(t, tc.text, err, strings.Fields("opensm ufm unit url token user policy partitions options lanes leave accept members ipoib all attached")...)
			lines := strings.Split(err.Error(), "\n")
			if len(lines) != len(tc.want) {
				t.Fatalf("faults are %q, want %d", lines, len(tc.want))
			}
			for i, want := range tc.want {
				if !strings.Contains(lines[i], want) {
					t.Errorf("fault is %q, want it to say %q", lines[i], want)
				}
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add("opensm: {options: /a, partitions: /b, unit: o.service}")
	f.Add("ufm:\n  url: https://ufm.example\n  token_file: t\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := Read("f", "/d", strings.NewReader(text))
		if (err == nil) != (got != nil) {
			t.Fatalf("file %+v, error %v", got, err)
		}
		if err == nil && (got.OpenSM == nil) == (got.UFM == nil) {
			t.Errorf("%q reads as %+v, want exactly one subnet manager", text, got)
		}
	})
}
