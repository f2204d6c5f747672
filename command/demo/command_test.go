package demo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"fairlane/command/cmdline"
	"fairlane/command/cmdline/cmdlinetest"
	"fairlane/internal/i18n"
	"fairlane/internal/phrase"
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

// A run reports each missed bound in the user's language, also for several planes.
func TestMissedBoundsAreInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	large, half, full := 0.25, 0.5, 1.0
	missed := func(p policy.Plane) error {
		r := Report{Plane: string(p), MaxShareError: &large, Utilisation: &half, UtilisationBefore: &full, links: 1,
			problems: []phrase.Text{phrase.Of("demo.unmeasured-link", "link", "a", "reason", phrase.Of("measure.gap", "gap", "1s"))}}
		return r.Missed()
	}
	err := errors.Join(missed(policy.PlaneIB), fmt.Errorf("plane roce: %w", missed(policy.PlaneRoCE)))
	if !errors.Is(err, cmdline.ErrBoundMissed) {
		t.Errorf("%v is no missed bound", err)
	}
	for lang, want := range map[string]string{
		"en": "bound missed: ib: link a could not be measured: 1s between two readings, in which a counter of 32 bits may wrap twice; share error 25 % is above 5 %; link use 50 % is below 97 % of the 100 % before\n" +
			"plane roce: bound missed: roce: ",
		"zh": "未达到目标：ib：无法测量链路 a：",
	} {
		text := cmdlinetest.App(t, lang).ErrorText(t.Context(), err)
		if !strings.HasPrefix(text, want) || lang == "zh" && strings.Contains(text, "bound missed") {
			t.Errorf("%s: %q, want it to begin with %q", lang, text, want)
		}
	}
}

func TestStepsAreInTheUsersLanguage(t *testing.T) {
	t.Parallel()
	a := &app{App: cmdlinetest.App(t, "zh")}
	said := phrase.Of("demo.no-link-use")
	if text := a.stepText("demo.step.rollout", []any{"result", said}); !strings.Contains(text, a.Texts.Say(said)) || strings.Contains(text, said.String()) {
		t.Errorf("step is %q", text)
	}
}

// An address in use is reported before the demo, not after it.
func TestADemoFailsEarlyIfItsAddressIsInUse(t *testing.T) {
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
