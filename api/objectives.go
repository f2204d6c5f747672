package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/service/control/objectives"
)

// ListObjectives lists the objectives in force.
func (s *Server) ListObjectives(ctx context.Context, r server.ListObjectivesRequestObject) (server.ListObjectivesResponseObject, error) {
	set, err := s.control.ObjectiveSet(ctx, r.Fabric)
	if err != nil {
		return nil, err
	}
	items, next, err := listed(ctx, r.Fabric, r.Params.Limit, r.Params.Cursor, s.control.ListObjectives, objectiveOut)
	return server.ListObjectives200JSONResponse{Default: objectiveOut(set.Default), Items: items, NextCursor: next}, err
}

// PutDefaultObjective sets the default of a fabric.
func (s *Server) PutDefaultObjective(ctx context.Context, r server.PutDefaultObjectiveRequestObject) (server.PutDefaultObjectiveResponseObject, error) {
	o, err := s.control.PutObjective(ctx, r.Fabric, "", objectives.Input(*r.Body))
	if err != nil {
		return nil, err
	}
	return server.PutDefaultObjective200JSONResponse(objectiveOut(o)), nil
}

// DeleteDefaultObjective removes the default of a fabric.
func (s *Server) DeleteDefaultObjective(ctx context.Context, r server.DeleteDefaultObjectiveRequestObject) (server.DeleteDefaultObjectiveResponseObject, error) {
	return server.DeleteDefaultObjective204Response{}, s.control.DeleteObjective(ctx, r.Fabric, "")
}

// PutObjective sets the objective of a tenant.
func (s *Server) PutObjective(ctx context.Context, r server.PutObjectiveRequestObject) (server.PutObjectiveResponseObject, error) {
	o, err := s.control.PutObjective(ctx, r.Fabric, r.Tenant, objectives.Input(*r.Body))
	if err != nil {
		return nil, err
	}
	return server.PutObjective200JSONResponse(objectiveOut(o)), nil
}

// DeleteObjective removes the objective of a tenant.
func (s *Server) DeleteObjective(ctx context.Context, r server.DeleteObjectiveRequestObject) (server.DeleteObjectiveResponseObject, error) {
	return server.DeleteObjective204Response{}, s.control.DeleteObjective(ctx, r.Fabric, r.Tenant)
}

func objectiveOut(o control.Objective) gen.Objective {
	out := gen.Objective{Bound: o.Bound, Target: o.Target, Source: gen.ObjectiveSource(o.Source), Tenant: optional(o.Tenant)}
	if !o.UpdatedAt.IsZero() {
		out.UpdatedAt = new(o.UpdatedAt)
	}
	return out
}
