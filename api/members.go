package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/service/control"
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

// ListFabricMembers implements the contract.
func (s *Server) ListFabricMembers(ctx context.Context, r gen.ListFabricMembersRequestObject) (gen.ListFabricMembersResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric}, r.Params.Limit, r.Params.Cursor, s.control.ListMembers, memberOut)
	return gen.ListFabricMembers200JSONResponse{Items: items, NextCursor: next}, err
}

// PutFabricMember implements the contract.
func (s *Server) PutFabricMember(ctx context.Context, r gen.PutFabricMemberRequestObject) (gen.PutFabricMemberResponseObject, error) {
	m, err := s.control.PutMember(ctx, r.User, tenants.Grant{Role: tenants.Role(r.Body.Role), Domain: tenants.Domain{Fabric: r.Fabric}})
	return gen.PutFabricMember200JSONResponse(memberOut(m)), err
}

// DeleteFabricMember implements the contract.
func (s *Server) DeleteFabricMember(ctx context.Context, r gen.DeleteFabricMemberRequestObject) (gen.DeleteFabricMemberResponseObject, error) {
	return gen.DeleteFabricMember204Response{}, s.control.DeleteMember(ctx, r.User, tenants.Domain{Fabric: r.Fabric})
}

func memberOut(m control.Member) gen.Member {
	return gen.Member{User: m.User, DisplayName: optional(m.DisplayName), Role: gen.Role(m.Role), Source: gen.MemberSource(m.Source)}
}
