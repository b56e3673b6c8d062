# Autolab runs `make` in a folder with this file, autograde.tar and what was handed in.
# The machine needs Python 3.11 and a compiler; PYTHON= names an environment with torch.
HANDIN ?= handin.zip
PYTHON ?= .venv/bin/python

all:
	@tar xf autograde.tar
	@cd convlab && { [ "$(PYTHON)" != .venv/bin/python ] || make doctor > doctor.log 2>&1; }
	@cd convlab && SPEED=off HOST=autolab FROM="../$(HANDIN)" $(PYTHON) -m grader autograde
