package operations_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"fairlane/service/control"
	"fairlane/service/control/controltest"
	"fairlane/service/control/operations"
)

func TestFindingsAreKeptForAWhile(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	now := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s := r.Manager(t, func(d *control.Deps) { d.Clock = func() time.Time { return now } })
	first, err := s.Diagnosis(t.Context())
	if err != nil || len(first.Findings) != 2 || !first.At.Equal(now) {
		t.Fatalf("%+v, %v", first, err)
	}
	now = now.Add(operations.DiagnosisAge - time.Second)
	if again, err := s.Diagnosis(t.Context()); err != nil || !again.At.Equal(first.At) || r.Devices.Examined() != 1 {
		t.Errorf("after %s: %s, %v; %d examinations", now.Sub(first.At), again.At, err, r.Devices.Examined())
	}
	now = now.Add(time.Second)
	if again, err := s.Diagnosis(t.Context()); err != nil || !again.At.Equal(now) || r.Devices.Examined() != 2 {
		t.Errorf("after %s: %s, %v; %d examinations", now.Sub(first.At), again.At, err, r.Devices.Examined())
	}
}

// A run of many fabrics that do not answer can take longer than findings are kept.
func TestAfterASlowExaminationCallersStartNoOtherAtOnce(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	var passed atomic.Int64
	begin := time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	s := r.Manager(t, func(d *control.Deps) { d.Clock = func() time.Time { return begin.Add(time.Duration(passed.Load())) } })
	r.Devices.OnDoctor(func(context.Context) { passed.Add(int64(operations.DiagnosisAge + time.Second)) })
	for range 2 {
		if d, err := s.Diagnosis(t.Context()); err != nil || !d.At.Equal(begin) {
			t.Errorf("%+v, %v; want the first run, which began at %s", d, err, begin)
		}
	}
	if n := r.Devices.Examined(); n != 1 {
		t.Errorf("%d examinations", n)
	}
}

func TestConcurrentCallersWaitForOneExamination(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	begun, goOn := make(chan struct{}), make(chan struct{})
	r.Devices.OnDoctor(func(ctx context.Context) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("an examination has no time limit")
		}
		close(begun)
		<-goOn
	})
	leaving, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := r.Service.Diagnosis(leaving)
		left <- err
	}()
	<-begun
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left gets %v", err)
	}
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if d, err := r.Service.Diagnosis(t.Context()); err != nil || len(d.Findings) != 2 {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	close(goOn)
	wait.Wait()
	if n := r.Devices.Examined(); n != 1 {
		t.Errorf("%d examinations", n)
	}
}

func TestWithoutADoctorThereAreNoFindings(t *testing.T) {
	t.Parallel()
	r := controltest.New(t, controltest.OpenSQLite)
	s := r.Manager(t, func(d *control.Deps) { d.Doctor = nil })
	if d, err := s.Diagnosis(t.Context()); err != nil || len(d.Findings) != 0 || d.At.IsZero() {
		t.Errorf("%+v, %v", d, err)
	}
}
