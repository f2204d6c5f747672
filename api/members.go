package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/internal/control"
	"fairlane/tenants"
)

// ListMembers implements the contract.
func (s *Server) ListMembers(ctx context.Context, r gen.ListMembersRequestObject) (gen.ListMembersResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor, s.control.ListMembers, memberOut)
	return gen.ListMembers200JSONResponse{Items: items, NextCursor: next}, err
}

// PutMember implements the contract.
func (s *Server) PutMember(ctx context.Context, r gen.PutMemberRequestObject) (gen.PutMemberResponseObject, error) {
	g := tenants.Grant{Role: tenants.Role(r.Body.Role), Domain: tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}}
	m, err := s.control.PutMember(ctx, r.User, g)
	return gen.PutMember200JSONResponse(memberOut(m)), err
}

// DeleteMember implements the contract.
func (s *Server) DeleteMember(ctx context.Context, r gen.DeleteMemberRequestObject) (gen.DeleteMemberResponseObject, error) {
	return gen.DeleteMember204Response{}, s.control.DeleteMember(ctx, r.User, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant})
}

func memberOut(m control.Member) gen.Member {
	return gen.Member{User: m.User, DisplayName: optional(m.DisplayName), Role: gen.Role(m.Role), Source: gen.MemberSource(m.Source)}
}
