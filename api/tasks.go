package api

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
)

// tasks returns a page of the tasks of a kind, without the texts of scenarios.
func tasks[T any](ctx context.Context, s *Server, k control.TaskKind, limit *gen.Limit, from *gen.Cursor, out func(control.Task, error) (T, error)) ([]T, *string, error) {
	list, next, err := listed(ctx, k, limit, from, s.control.ListTasks, func(t control.Task) control.Task { return t })
	if err != nil {
		return nil, nil, err
	}
	items := make([]T, len(list))
	for i, t := range list {
		t.Request.Scenario = ""
		if items[i], err = out(t, nil); err != nil {
			return nil, nil, err
		}
	}
	return items, next, nil
}

func (s *Server) ListSimulations(ctx context.Context, r server.ListSimulationsRequestObject) (server.ListSimulationsResponseObject, error) {
	items, next, err := tasks(ctx, s, control.TaskSimulation, r.Params.Limit, r.Params.Cursor, simulationOut)
	return server.ListSimulations200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) StartSimulation(ctx context.Context, r server.StartSimulationRequestObject) (server.StartSimulationResponseObject, error) {
	out, err := simulationOut(s.control.StartTask(ctx, control.TaskSimulation, control.TaskRequest{
		Fabric: deref(r.Body.Fabric), Plan: deref(r.Body.Plan), Before: deref(r.Body.Before), Scenario: deref(r.Body.Scenario), Seed: uint64(deref(r.Body.Seed)),
	}))
	return server.StartSimulation202JSONResponse{Body: out, Headers: server.StartSimulation202ResponseHeaders{Location: location("simulations", out.ID)}}, err
}

func (s *Server) GetSimulation(ctx context.Context, r server.GetSimulationRequestObject) (server.GetSimulationResponseObject, error) {
	out, err := simulationOut(s.control.Task(ctx, control.TaskSimulation, r.Simulation))
	return server.GetSimulation200JSONResponse(out), err
}

func (s *Server) CancelSimulation(ctx context.Context, r server.CancelSimulationRequestObject) (server.CancelSimulationResponseObject, error) {
	out, err := simulationOut(s.control.CancelTask(ctx, control.TaskSimulation, r.Simulation))
	return server.CancelSimulation202JSONResponse(out), err
}

func (s *Server) ListCalibrations(ctx context.Context, r server.ListCalibrationsRequestObject) (server.ListCalibrationsResponseObject, error) {
	items, next, err := tasks(ctx, s, control.TaskCalibration, r.Params.Limit, r.Params.Cursor, calibrationOut)
	return server.ListCalibrations200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) StartCalibration(ctx context.Context, r server.StartCalibrationRequestObject) (server.StartCalibrationResponseObject, error) {
	out, err := calibrationOut(s.control.StartTask(ctx, control.TaskCalibration, control.TaskRequest{
		Profile: r.Body.Profile, Quick: deref(r.Body.Quick), Seed: uint64(valueOr(r.Body.Seed, 1)),
	}))
	return server.StartCalibration202JSONResponse{Body: out, Headers: server.StartCalibration202ResponseHeaders{Location: location("calibrations", out.ID)}}, err
}

func (s *Server) GetCalibration(ctx context.Context, r server.GetCalibrationRequestObject) (server.GetCalibrationResponseObject, error) {
	out, err := calibrationOut(s.control.Task(ctx, control.TaskCalibration, r.Calibration))
	return server.GetCalibration200JSONResponse(out), err
}

func (s *Server) CancelCalibration(ctx context.Context, r server.CancelCalibrationRequestObject) (server.CancelCalibrationResponseObject, error) {
	out, err := calibrationOut(s.control.CancelTask(ctx, control.TaskCalibration, r.Calibration))
	return server.CancelCalibration202JSONResponse(out), err
}

// simulationOut converts a task, or returns the error.
func simulationOut(t control.Task, err error) (gen.Simulation, error) {
	if err != nil {
		return gen.Simulation{}, err
	}
	out := gen.Simulation{
		ID: t.ID, State: gen.TaskState(t.State), Progress: t.Progress, Fabric: optional(t.Request.Fabric), Plan: optional(t.Request.Plan),
		Seed: optional(int64(t.Request.Seed)), Scenario: optional(t.Request.Scenario), Error: optional(t.Error.String()), ErrorSaid: optionalText(t.Error), Actor: t.Actor, // the contract bounds it to 52 bits
		CreatedAt: t.CreatedAt, StartedAt: instant(t.StartedAt), FinishedAt: instant(t.FinishedAt),
	}
	out.Result, err = resultOut(t)
	return out, err
}

// calibrationOut converts a task, or returns the error.
func calibrationOut(t control.Task, err error) (gen.Calibration, error) {
	if err != nil {
		return gen.Calibration{}, err
	}
	out := gen.Calibration{
		ID: t.ID, State: gen.TaskState(t.State), Progress: t.Progress, Profile: t.Request.Profile, Seed: int64(t.Request.Seed), Quick: t.Request.Quick,
		Error: optional(t.Error.String()), ErrorSaid: optionalText(t.Error), Actor: t.Actor, CreatedAt: t.CreatedAt, StartedAt: instant(t.StartedAt), FinishedAt: instant(t.FinishedAt),
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

// lastYear is the last year that RFC 3339 can represent.
const lastYear = 9999

// instant returns nil for the zero time, and for a time too late to be written, which means never.
func instant(t time.Time) *time.Time {
	if t.IsZero() || t.Year() > lastYear {
		return nil
	}
	return &t
}
