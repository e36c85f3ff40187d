# The .deb packages snugctl, snug-extender and snug-agent. In a build folder in which all are built: cpack
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME snug)
set(CPACK_PACKAGE_CONTACT "Snug <maintainers@snug.dev>")
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL snugctl snug-extender snug-agent)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SNUGCTL_PACKAGE_NAME snugctl)
set(CPACK_DEBIAN_SNUG-EXTENDER_PACKAGE_NAME snug-extender)
set(CPACK_DEBIAN_SNUG-EXTENDER_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_SNUG-AGENT_PACKAGE_NAME snug-agent)
set(CPACK_DEBIAN_SNUG-AGENT_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_COMPONENT_SNUGCTL_DESCRIPTION "shows how GPUs are shared, and why pods are pending
Queries a Snug that runs in a Kubernetes cluster, checks its policies and
simulates its decisions. Also the plug-in snug of kubectl.")
set(CPACK_COMPONENT_SNUG-EXTENDER_DESCRIPTION "Kubernetes scheduler extender that shares GPUs
Serves filter, prioritize, preempt and bind of kube-scheduler, and packs
pods tightly onto GPUs.")
set(CPACK_COMPONENT_SNUG-AGENT_DESCRIPTION "gives containers of a node the GPUs reserved for them
Publishes the GPUs of a Kubernetes node, and as a plug-in of its container
runtime gives each container exactly the GPUs that Snug has reserved for it.
Also snug-mps, which runs the MPS daemons of a node, snug-gate, which refuses
containers in the place of a runtime that cannot, and snug-observe, which
prints what a container sees of GPUs.")
include(CPack)
