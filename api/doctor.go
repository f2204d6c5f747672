package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
)

func (s *Server) GetDoctor(ctx context.Context, _ server.GetDoctorRequestObject) (server.GetDoctorResponseObject, error) {
	d, err := s.control.Diagnosis(ctx)
	if err != nil {
		return nil, err
	}
	out := gen.Diagnosis{CheckedAt: d.At, Findings: make([]gen.DoctorFinding, len(d.Findings))}
	for i := range d.Findings {
		out.Findings[i] = doctorFindingBody(&d.Findings[i])
	}
	return server.GetDoctor200JSONResponse(out), nil
}

func doctorFindingBody(f *control.DoctorFinding) gen.DoctorFinding {
	out := gen.DoctorFinding{
		Check: f.Check, Subject: optional(f.Subject), Status: gen.DoctorFindingStatus(f.Status), Code: f.Code, Text: f.Found.String(), Said: f.Found,
	}
	if f.Do.ID != "" {
		out.Remedy, out.RemedySaid = optional(f.Do.String()), &f.Do
	}
	return out
}
