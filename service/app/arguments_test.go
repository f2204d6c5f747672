package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"fairlane/internal/i18n"
	"fairlane/policy"
	"fairlane/sim/lab/evaluate"
	"fairlane/sim/simdev"
)

func TestSeeds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]uint64{"0": 0, "7": 7, "0x10": 16, "18446744073709551615": 1<<64 - 1} {
		var v seedValue
		if err := v.Set(text); err != nil || uint64(v) != want {
			t.Errorf("%s: %d, %v", text, v, err)
		}
	}
	for _, text := range []string{"-1", "", "1.5", "much", "18446744073709551616"} {
		v := seedValue(3)
		if err := v.Set(text); err == nil || !strings.Contains(err.Error(), "want a whole number from 0 to 18446744073709551615") || v != 3 {
			t.Errorf("%q: %d, %v", text, v, err)
		}
	}
}

// Every command with --seed keeps its default, which help shows unless it is the scenario's own.
func TestSeedDefaults(t *testing.T) {
	t.Parallel()
	a := testApp(t, "en")
	for path, want := range map[string]string{"demo": "1", "compile": "1", "reproduce": "1", "sim serve": "1", "sim run": "0"} {
		cmd, _, err := a.root(nil).Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		if f := cmd.Flags().Lookup("seed"); f == nil || f.DefValue != want || f.Value.String() != want {
			t.Errorf("%s: %+v, want the default %s", path, f, want)
		}
	}
}

func testApp(t *testing.T, lang string) *app {
	t.Helper()
	text, err := i18n.Load(lang)
	if err != nil {
		t.Fatal(err)
	}
	return &app{stdout: io.Discard, stderr: io.Discard, text: text}
}

// signalError is an error that is the end of a context, as that of package signal is.
type signalError string

func (e signalError) Error() string        { return string(e) }
func (e signalError) Is(target error) bool { return target == context.Canceled }

func TestErrorTextOfAnInterruption(t *testing.T) {
	t.Parallel()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	cause := fmt.Errorf("bench x: %w", context.Canceled)
	signaled, stop := context.WithCancelCause(t.Context()) // as package signal does it
	stop(signalError("interrupt signal received"))
	for _, c := range []struct {
		lang string
		ctx  context.Context
		err  error
		want string
	}{
		{"en", canceled, cause, "bench x: interrupted"},
		{"zh", canceled, cause, "bench x: 已中断"},
		{"en", signaled, fmt.Errorf("dial: %w", context.Cause(signaled)), "dial: interrupted"},
		{"zh", signaled, errors.Join(context.Cause(signaled), cause), "已中断\nbench x: 已中断"},
		{"zh", signaled, errors.New("disk full"), "disk full"},
		{"en", canceled, errors.Join(cause, errors.New("disk full")), "bench x: interrupted\ndisk full"},
		{"en", t.Context(), cause, "bench x: context canceled"}, // somebody else's
		{"en", canceled, errors.New("disk full"), "disk full"},
	} {
		if got := testApp(t, c.lang).errorText(c.ctx, c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}

func TestServedText(t *testing.T) {
	t.Parallel()
	st := simdev.ServerStats{Datagrams: 101, Malformed: 102, Dropped: 103, Unroutable: 104, Refused: 105, Clients: 106}
	const want = "101 management datagrams received, 102 malformed, 104 undeliverable; 103 answers not sent, 105 connections refused, 106 clients attached at the end"
	if got := testApp(t, "en").servedText(st); got != want {
		t.Errorf("got %q", got)
	}
}

func TestLineOfWhatAJSONDecoderRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"{\n\"a\": 1,\n\"a\" 2}", ":3"},
		{"{\n\"a\": \"one\"\n}\n", ":2"},
		{"{\n\"a\": 1,\n", ":2"}, // cut off
		{"", ""},                 // nowhere
		{"{\n\"b\": 1}", ""},     // the decoder names the field, not the place
	} {
		d := json.NewDecoder(strings.NewReader(c.text))
		d.DisallowUnknownFields()
		var to struct{ A int }
		err := d.Decode(&to)
		if err == nil {
			t.Fatalf("%q was decoded", c.text)
		}
		if got := jsonLine([]byte(c.text), err); got != c.want {
			t.Errorf("%q: %v: at %q, want %q", c.text, err, got, c.want)
		}
	}
}

func TestTenantsSimulatedOutsideTheirBoundAreNamed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	c := &compiled{Plan: &policy.Plan{Tenants: []policy.TenantShare{{Tenant: "red", Bound: 0.02}, {Tenant: "blue", Bound: 0.5}}}}
	a := testApp(t, "en")
	if a.printOutside(&out, c); out.Len() > 0 {
		t.Errorf("without a simulation: %q", out.String())
	}
	c.Simulation = &evaluate.Simulation{Tenants: []evaluate.SimulatedTenant{
		{Tenant: "red", PredictionError: 0.064}, {Tenant: "blue", PredictionError: 0.064, Within: true},
	}}
	a.printOutside(&out, c)
	if want := "simulated outside the bound: red is 6.4 % off its prediction, which allows for 2 %\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}

func TestAStoppedCalibrationSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	a := testApp(t, "en")
	if got, want := a.stoppedCalibration(calibrateFlags{resume: "runs.jsonl"}, 7), "7 runs are done and kept in runs.jsonl: the same command goes on from there"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := a.stoppedCalibration(calibrateFlags{}, 7), "7 runs were done and are lost: --resume FILE keeps them"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
