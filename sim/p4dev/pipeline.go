package p4dev

import (
	p4v1 "github.com/p4lang/p4runtime/go/p4/v1"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

func (d *Device) hasPipeline() error {
	if d.faults.NoPipeline {
		return status.Error(codes.FailedPrecondition, "no forwarding pipeline config")
	}
	return nil
}

// setPipeline checks and loads a program. The device accepts only its current P4Info.
func (d *Device) setPipeline(r *p4v1.SetForwardingPipelineConfigRequest) error {
	if err := d.mayWrite(r.GetRole(), r.GetElectionId()); err != nil {
		return err
	}
	if !proto.Equal(r.GetConfig().GetP4Info(), d.program) {
		return status.Errorf(codes.InvalidArgument, "wrong P4Info: program %q, want %q exactly as GetForwardingPipelineConfig returns it",
			r.GetConfig().GetP4Info().GetPkgInfo().GetName(), d.program.GetPkgInfo().GetName())
	}
	switch a := r.GetAction(); a {
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY:
	case p4v1.SetForwardingPipelineConfigRequest_VERIFY_AND_COMMIT:
		d.clear()
		d.cookie = r.GetConfig().GetCookie().GetCookie()
	case p4v1.SetForwardingPipelineConfigRequest_RECONCILE_AND_COMMIT:
		d.cookie = r.GetConfig().GetCookie().GetCookie()
	default:
		return status.Errorf(codes.Unimplemented, "action %s", a)
	}
	return nil
}

// mayWrite checks that a request is from the primary.
func (d *Device) mayWrite(role string, election *p4v1.Uint128) error {
	switch {
	case role != "":
		return status.Errorf(codes.InvalidArgument, "role %q: want the default role", role)
	case d.primary == nil:
		return status.Error(codes.PermissionDenied, "no primary: open a StreamChannel and arbitrate first")
	case compareIDs(election, d.primary.election) != 0:
		return status.Errorf(codes.PermissionDenied, "election id %d/%d is not that of the primary", election.GetHigh(), election.GetLow())
	}
	return nil
}
