package api

import (
	"context"

	"fairlane/api/gen"
	"fairlane/api/server"
	"fairlane/service/control"
	"fairlane/tenants"
)

func (s *Server) ListMembers(ctx context.Context, r server.ListMembersRequestObject) (server.ListMembersResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}, r.Params.Limit, r.Params.Cursor, s.control.ListMembers, memberOut)
	return server.ListMembers200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) PutMember(ctx context.Context, r server.PutMemberRequestObject) (server.PutMemberResponseObject, error) {
	g := tenants.Grant{Role: tenants.Role(r.Body.Role), Domain: tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant}}
	m, err := s.control.PutMember(ctx, r.User, g)
	return server.PutMember200JSONResponse(memberOut(m)), err
}

func (s *Server) DeleteMember(ctx context.Context, r server.DeleteMemberRequestObject) (server.DeleteMemberResponseObject, error) {
	return server.DeleteMember204Response{}, s.control.DeleteMember(ctx, r.User, tenants.Domain{Fabric: r.Fabric, Tenant: r.Tenant})
}

func (s *Server) ListFabricMembers(ctx context.Context, r server.ListFabricMembersRequestObject) (server.ListFabricMembersResponseObject, error) {
	items, next, err := listed(ctx, tenants.Domain{Fabric: r.Fabric}, r.Params.Limit, r.Params.Cursor, s.control.ListMembers, memberOut)
	return server.ListFabricMembers200JSONResponse{Items: items, NextCursor: next}, err
}

func (s *Server) PutFabricMember(ctx context.Context, r server.PutFabricMemberRequestObject) (server.PutFabricMemberResponseObject, error) {
	m, err := s.control.PutMember(ctx, r.User, tenants.Grant{Role: tenants.Role(r.Body.Role), Domain: tenants.Domain{Fabric: r.Fabric}})
	return server.PutFabricMember200JSONResponse(memberOut(m)), err
}

func (s *Server) DeleteFabricMember(ctx context.Context, r server.DeleteFabricMemberRequestObject) (server.DeleteFabricMemberResponseObject, error) {
	return server.DeleteFabricMember204Response{}, s.control.DeleteMember(ctx, r.User, tenants.Domain{Fabric: r.Fabric})
}

func memberOut(m control.Member) gen.Member {
	return gen.Member{User: m.User, DisplayName: optional(m.DisplayName), Role: gen.Role(m.Role), Source: gen.MemberSource(m.Source)}
}
