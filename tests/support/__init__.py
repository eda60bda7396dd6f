"""What integration and end-to-end tests stand on: repositories, boards, processes, remotes and ways to break them."""
