package evaluate

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fairlane/policy"
)

// The same cases and seed give the same results in the same order, for any number of jobs.
func TestResultsDoNotDependOnTheNumberOfJobs(t *testing.T) {
	t.Parallel()
	var runs [][]*Result
	for _, jobs := range []int{1, 3} {
		var reported []*Result
		last := 0
		got, err := Run(t.Context(), Request{Cases: 5, Seed: 8, Planes: []policy.Plane{policy.PlaneWRCC}, Jobs: jobs,
			Progress: func(done, all int) {
				if done != last+1 || all != 5 {
					t.Errorf("progress %d of %d after %d", done, all, last)
				}
				last = done
			},
			Done: func(r *Result) error { reported = append(reported, r); return nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, reported); d != "" {
			t.Errorf("Done received other results: %s", d)
		}
		for i, r := range got {
			if r.Case != i || r.Failed != "" || len(r.Tenants) < minTenants {
				t.Errorf("result %d: %+v", i, r)
			}
		}
		runs = append(runs, got)
	}
	if d := cmp.Diff(runs[0], runs[1]); d != "" {
		t.Errorf("one job and three differ: %s", d)
	}
}

// When the context ends, Run returns the completed results, from the first case on without gaps.
func TestInterruptedEvaluationKeepsCompletedCases(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got, err := Run(ctx, Request{Cases: 50, Seed: 8, Planes: []policy.Plane{policy.PlaneWRCC}, Jobs: 2, Done: func(r *Result) error {
		if r.Case == 1 {
			cancel()
		}
		return nil
	}})
	if !errors.Is(err, context.Canceled) || len(got) < 2 || len(got) == 50 {
		t.Fatalf("%d results, %v: want the first few, and the context's error", len(got), err)
	}
	for i, r := range got {
		if r == nil || r.Case != i {
			t.Errorf("result %d: %+v", i, r)
		}
	}
}

// An error of Done stops the evaluation.
func TestDoneErrorEndsTheEvaluation(t *testing.T) {
	t.Parallel()
	full := errors.New("disk is full")
	if _, err := Run(t.Context(), Request{Cases: 3, Seed: 8, Planes: []policy.Plane{policy.PlaneWRCC}, Jobs: 1, Done: func(*Result) error { return full }}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

func TestRequestsOutOfRange(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Request{
		"no cases": {Jobs: 1}, "too many cases": {Cases: MaxCases + 1, Jobs: 1}, "no jobs": {Cases: 1}, "too many jobs": {Cases: 1, Jobs: MaxJobs + 1},
		"plane": {Cases: 1, Jobs: 1, Planes: []policy.Plane{"atm"}},
	} {
		if got, err := Run(t.Context(), r); err == nil || len(got) != 0 {
			t.Errorf("%s: %d results, %v: want an error", name, len(got), err)
		}
	}
}
