package operations

import (
	"context"
	"sync"
	"time"

	"fairlane/service/control"
)

const (
	// DiagnosisAge is how long the findings of one run are returned again after its end. It bounds what callers can cost: a run reads
	// files and queries every fabric, which can take longer than this.
	DiagnosisAge = 30 * time.Second
	// diagnosisTimeout is the time limit of a run.
	diagnosisTimeout = time.Minute
)

// diagnoses keeps the latest findings. At most one run is in progress.
type diagnoses struct {
	mu      sync.Mutex
	latest  control.Diagnosis
	ended   time.Time     // end of the run of latest
	running chan struct{} // closed when the run in progress ends; nil: none
}

// Diagnosis returns the findings of the doctor's latest run, which ended at most DiagnosisAge ago. Concurrent callers wait for one run, which
// continues when a caller leaves. Without a doctor there are no findings.
func (o *Operations) Diagnosis(ctx context.Context) (control.Diagnosis, error) {
	if o.Doctor == nil {
		return control.Diagnosis{At: o.Now()}, nil
	}
	d := &o.diagnoses
	d.mu.Lock()
	if !d.ended.IsZero() && o.Now().Sub(d.ended) < DiagnosisAge {
		defer d.mu.Unlock()
		return d.latest, nil
	}
	if d.running == nil {
		d.running = make(chan struct{})
		go o.examine(context.WithoutCancel(ctx), d.running)
	}
	running := d.running
	d.mu.Unlock()
	select {
	case <-running:
	case <-ctx.Done():
		return control.Diagnosis{}, ctx.Err()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.latest, nil
}

// examine runs all checks and keeps their findings.
func (o *Operations) examine(ctx context.Context, done chan struct{}) {
	ctx, cancel := context.WithTimeout(ctx, diagnosisTimeout)
	defer cancel()
	found := control.Diagnosis{At: o.Now()}
	found.Findings = o.Doctor.Examine(ctx)
	o.diagnoses.mu.Lock()
	defer o.diagnoses.mu.Unlock()
	o.diagnoses.latest, o.diagnoses.ended, o.diagnoses.running = found, o.Now(), nil
	close(done)
}
