package api

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"fairlane/api/gen"
	"fairlane/internal/control"
)

// ListSimulations implements the contract.
func (s *Server) ListSimulations(ctx context.Context, r gen.ListSimulationsRequestObject) (gen.ListSimulationsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListTasks(ctx, control.TaskSimulation, p)
	if err != nil {
		return nil, err
	}
	out := gen.ListSimulations200JSONResponse{Items: make([]gen.Simulation, len(list)), NextCursor: cursor(next)}
	for i, t := range list {
		t.Request.Scenario = ""
		if out.Items[i], err = simulationOut(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// StartSimulation implements the contract.
func (s *Server) StartSimulation(ctx context.Context, r gen.StartSimulationRequestObject) (gen.StartSimulationResponseObject, error) {
	t, err := s.control.StartTask(ctx, control.TaskSimulation, control.TaskRequest{
		Fabric: deref(r.Body.Fabric), Plan: deref(r.Body.Plan), Before: deref(r.Body.Before), Scenario: deref(r.Body.Scenario), Seed: uint64(deref(r.Body.Seed)),
	})
	if err != nil {
		return nil, err
	}
	out, err := simulationOut(t)
	return gen.StartSimulation202JSONResponse{Body: out, Headers: gen.StartSimulation202ResponseHeaders{Location: "/api/v1/simulations/" + strconv.FormatInt(t.ID, 10)}}, err
}

// GetSimulation implements the contract.
func (s *Server) GetSimulation(ctx context.Context, r gen.GetSimulationRequestObject) (gen.GetSimulationResponseObject, error) {
	t, err := s.control.Task(ctx, control.TaskSimulation, r.Simulation)
	if err != nil {
		return nil, err
	}
	out, err := simulationOut(t)
	return gen.GetSimulation200JSONResponse(out), err
}

// CancelSimulation implements the contract.
func (s *Server) CancelSimulation(ctx context.Context, r gen.CancelSimulationRequestObject) (gen.CancelSimulationResponseObject, error) {
	t, err := s.control.CancelTask(ctx, control.TaskSimulation, r.Simulation)
	if err != nil {
		return nil, err
	}
	out, err := simulationOut(t)
	return gen.CancelSimulation202JSONResponse(out), err
}

// ListCalibrations implements the contract.
func (s *Server) ListCalibrations(ctx context.Context, r gen.ListCalibrationsRequestObject) (gen.ListCalibrationsResponseObject, error) {
	p, err := page(r.Params.Limit, r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	list, next, err := s.control.ListTasks(ctx, control.TaskCalibration, p)
	if err != nil {
		return nil, err
	}
	out := gen.ListCalibrations200JSONResponse{Items: make([]gen.Calibration, len(list)), NextCursor: cursor(next)}
	for i, t := range list {
		if out.Items[i], err = calibrationOut(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// StartCalibration implements the contract.
func (s *Server) StartCalibration(ctx context.Context, r gen.StartCalibrationRequestObject) (gen.StartCalibrationResponseObject, error) {
	seed := uint64(1)
	if r.Body.Seed != nil {
		seed = uint64(*r.Body.Seed)
	}
	t, err := s.control.StartTask(ctx, control.TaskCalibration, control.TaskRequest{Profile: r.Body.Profile, Quick: deref(r.Body.Quick), Seed: seed})
	if err != nil {
		return nil, err
	}
	out, err := calibrationOut(t)
	return gen.StartCalibration202JSONResponse{Body: out, Headers: gen.StartCalibration202ResponseHeaders{Location: "/api/v1/calibrations/" + strconv.FormatInt(t.ID, 10)}}, err
}

// GetCalibration implements the contract.
func (s *Server) GetCalibration(ctx context.Context, r gen.GetCalibrationRequestObject) (gen.GetCalibrationResponseObject, error) {
	t, err := s.control.Task(ctx, control.TaskCalibration, r.Calibration)
	if err != nil {
		return nil, err
	}
	out, err := calibrationOut(t)
	return gen.GetCalibration200JSONResponse(out), err
}

// CancelCalibration implements the contract.
func (s *Server) CancelCalibration(ctx context.Context, r gen.CancelCalibrationRequestObject) (gen.CancelCalibrationResponseObject, error) {
	t, err := s.control.CancelTask(ctx, control.TaskCalibration, r.Calibration)
	if err != nil {
		return nil, err
	}
	out, err := calibrationOut(t)
	return gen.CancelCalibration202JSONResponse(out), err
}

func simulationOut(t control.Task) (out gen.Simulation, err error) {
	out = gen.Simulation{
		ID: t.ID, State: gen.TaskState(t.State), Progress: t.Progress, Fabric: optional(t.Request.Fabric), Plan: optional(t.Request.Plan),
		Seed: optional(int64(t.Request.Seed)), Scenario: optional(t.Request.Scenario), Error: optional(t.Error), Actor: t.Actor, //nolint:gosec // the contract bounds it to 52 bits
		CreatedAt: t.CreatedAt, StartedAt: instant(t.StartedAt), FinishedAt: instant(t.FinishedAt),
	}
	out.Result, err = resultOut(t)
	return out, err
}

func calibrationOut(t control.Task) (out gen.Calibration, err error) {
	out = gen.Calibration{
		ID: t.ID, State: gen.TaskState(t.State), Progress: t.Progress, Profile: t.Request.Profile, Seed: int64(t.Request.Seed), Quick: t.Request.Quick, //nolint:gosec // as above
		Error: optional(t.Error), Actor: t.Actor, CreatedAt: t.CreatedAt, StartedAt: instant(t.StartedAt), FinishedAt: instant(t.FinishedAt),
	}
	out.Result, err = resultOut(t)
	return out, err
}

func resultOut(t control.Task) (out map[string]any, err error) {
	if len(t.Result) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(t.Result, &out); err != nil {
		return nil, fmt.Errorf("decode the result of %s %d: %w", t.Kind, t.ID, err)
	}
	return out, nil
}

// instant is nil for no time.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
