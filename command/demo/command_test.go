package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/i18n"
	"fairlane/policy"
)

func TestFinishedPlanesArePrintedWhenOneFails(t *testing.T) {
	t.Parallel()
	whole := func(p policy.Plane) *Report {
		small, full := 0.001, 1.0
		return &Report{Plane: string(p), MaxShareError: &small, Utilisation: &full, UtilisationBefore: &full}
	}
	a := &app{App: cmdlinetest.App(t, i18n.Default)}
	var out bytes.Buffer
	a.Stdout = &out
	err := a.showPlanes(t.Context(), demoFlags{once: true, json: true}, policy.Planes(), func(p policy.Plane) (*Report, error) {
		if p == policy.PlaneRoCE {
			return nil, errors.New("no such luck")
		}
		return whole(p), nil
	})
	if err == nil || !strings.Contains(err.Error(), "plane roce: no such luck") || cmdline.ExitCode(err) != cmdline.ExitFailed {
		t.Errorf("error %v with exit code %d, want that plane roce failed, and %d", err, cmdline.ExitCode(err), cmdline.ExitFailed)
	}
	var got []Report
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
	if len(got) != 2 || got[0].Plane != "ib" || got[1].Plane != "wrcc" {
		t.Errorf("printed %s, want the planes ib and wrcc", out.String())
	}
}

// An address that another process listens on is reported before the demo, not after it.
func TestADemoWhoseAddressIsTakenDoesNotBegin(t *testing.T) {
	t.Parallel()
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	var out, words bytes.Buffer
	code := cmdline.Main(t.Context(), []string{"--lang=en", "demo", "--listen", l.Addr().String()}, &out, &words, func(a *cmdline.App, root *cobra.Command) { Add(a, root, nil) })
	if code != cmdline.ExitFailed || !strings.Contains(words.String(), l.Addr().String()) || out.Len() > 0 {
		t.Errorf("exit code %d, %q and %q, want %d, the address and no demo", code, out.String(), words.String(), cmdline.ExitFailed)
	}
}
